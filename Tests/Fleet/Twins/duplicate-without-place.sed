# file: Sources/WeirNATS/NATSSender.swift
# run: --only false_duplicates --seconds 25
# finds: lost
# The sender counts an answer that says duplicate, and no place in the stream, as an acknowledgement: the stream may not
# have the message.
s/^      var seq: UInt64?$/&\n      var duplicate: Bool?/
s/^      \/\/ A message that the stream/      if answer.duplicate == true { return call.outcomes[index] = .stored }\n&/
