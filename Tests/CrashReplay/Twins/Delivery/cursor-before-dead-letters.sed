# file: Sources/WeirDelivery/Dispatching/DeliveryLoop+Keeping.swift
# tests: DeliveryOrderTests
# The cursor passes rejected events before they are among the dead letters: killed in between, they are nowhere.
/func bury(/,/^  }/ s/^      for rejection in unburied { settle(.*$//
/func bury(/,/^  }/ s/^    do throws(WeirError) {$/    for rejection in unburied { settle(rejection.event, Outcomes(rejected: 1)) }\n    moveCursor()\n&/
