//! Operators at run time: manager, controller, sources, handlers, predicates, finalizers and events.
