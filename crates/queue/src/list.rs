//! Doubly linked lists threaded through a slab: insertion and removal anywhere in constant time, no allocation.

/// No neighbour.
pub(crate) const NONE: u32 = u32::MAX;

/// The neighbours of one slot in one list.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Links {
    prev: u32,
    next: u32,
}

impl Default for Links {
    fn default() -> Self {
        Self {
            prev: NONE,
            next: NONE,
        }
    }
}

/// Something that can be in list number `N` (each slot is in at most one list of each number at a time).
pub(crate) trait Linked {
    fn links(&mut self, list: usize) -> &mut Links;
    fn next(&self, list: usize) -> u32;
}

impl Links {
    pub(crate) fn next(self) -> u32 {
        self.next
    }
}

/// The ends of a list.
#[derive(Debug, Clone, Copy)]
pub(crate) struct List<const N: usize> {
    head: u32,
    tail: u32,
    len: usize,
}

impl<const N: usize> Default for List<N> {
    fn default() -> Self {
        Self {
            head: NONE,
            tail: NONE,
            len: 0,
        }
    }
}

impl<const N: usize> List<N> {
    pub(crate) fn front(&self) -> Option<u32> {
        (self.head != NONE).then_some(self.head)
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn push_back<T: Linked>(&mut self, slots: &mut [T], at: u32) {
        *slots[at as usize].links(N) = Links {
            prev: self.tail,
            next: NONE,
        };
        match self.tail {
            NONE => self.head = at,
            tail => slots[tail as usize].links(N).next = at,
        }
        self.tail = at;
        self.len += 1;
    }

    /// Takes a slot out. It must be in this list.
    pub(crate) fn remove<T: Linked>(&mut self, slots: &mut [T], at: u32) {
        let Links { prev, next } = std::mem::take(slots[at as usize].links(N));
        match prev {
            NONE => self.head = next,
            prev => slots[prev as usize].links(N).next = next,
        }
        match next {
            NONE => self.tail = prev,
            next => slots[next as usize].links(N).prev = prev,
        }
        self.len -= 1;
    }

    pub(crate) fn iter<'a, T: Linked>(&self, slots: &'a [T]) -> impl Iterator<Item = &'a T> {
        let mut at = self.head;
        std::iter::from_fn(move || {
            let slot = (at != NONE).then(|| &slots[at as usize])?;
            at = slot.next(N);
            Some(slot)
        })
    }
}
