# file: Sources/WeirFleet/Collecting/FleetCollector.swift
# run: --only collecting --seconds 20
# finds: twice
# The collector knows what it has collected as long as it lives: what it reads again after a kill is in the log twice.
s/^    state = content\.state$/    state = FleetState()/
s/^    for segment in segments { state\.collected(segment) }$//
