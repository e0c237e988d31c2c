// DispatcherService: a dispatcher as a service of swift-service-lifecycle.

#if Lifecycle
  import Weir
#endif
