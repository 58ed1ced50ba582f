//! Doubly linked lists threaded through a slab: insertion and removal anywhere in constant time, no allocation.
//!
//! A slab is a vector of slots; a list knows its ends, and each slot knows its neighbours. The queue keeps its keys in
//! such lists, and so does whoever else has entries that change their place often.

/// No neighbour.
pub const NONE: u32 = u32::MAX;

/// The neighbours of one slot in one list.
#[derive(Debug, Clone, Copy)]
pub struct Links {
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
pub trait Linked {
    /// The neighbours in the list of this number.
    fn links(&mut self, list: usize) -> &mut Links;

    /// [`Links::next`] of these.
    fn next(&self, list: usize) -> u32;
}

impl Links {
    /// The slot behind this one, or [`NONE`].
    #[must_use]
    pub fn next(self) -> u32 {
        self.next
    }
}

/// The ends of list number `N`. All methods panic when a slot is asked for that the slab does not have; lists must be
/// dropped with their slab.
#[derive(Debug, Clone, Copy)]
pub struct List<const N: usize> {
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
    /// The first slot.
    #[must_use]
    pub fn front(&self) -> Option<u32> {
        (self.head != NONE).then_some(self.head)
    }

    /// How many slots are in the list.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// True when no slot is in the list.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds a slot at the end. It must not be in this list.
    pub fn push_back<T: Linked>(&mut self, slots: &mut [T], at: u32) {
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
    pub fn remove<T: Linked>(&mut self, slots: &mut [T], at: u32) {
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

    /// The slots from first to last.
    pub fn iter<'a, T: Linked>(&self, slots: &'a [T]) -> impl Iterator<Item = &'a T> {
        let mut at = self.head;
        std::iter::from_fn(move || {
            let slot = (at != NONE).then(|| &slots[at as usize])?;
            at = slot.next(N);
            Some(slot)
        })
    }
}
