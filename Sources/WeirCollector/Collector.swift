// Collector: an endpoint that takes batches as the vendors do.

#if Collector
  import Weir
#endif
