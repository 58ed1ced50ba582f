//! Reflector, DeltaFifo, indexer, shared informer and lister over a compact store.
