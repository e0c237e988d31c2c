// Contracts from YAML files.

#if YAML
  import Yams
#endif
