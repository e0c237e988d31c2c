// HTTPProvider: delivery over HTTP.

#if HTTP
  import Weir
#endif
