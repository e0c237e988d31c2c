-- requests.lua: what wrk sends to the shop: its four requests in turn, each with other numbers.
local number = 0

request = function()
  number = number + 1
  local kind = number % 4
  wrk.headers["User-Agent"] = "user-" .. number % 5000
  if kind == 0 then return wrk.format("GET", "/items/" .. number) end
  if kind == 1 then return wrk.format("GET", "/search?q=" .. "thing-" .. number % 1000) end
  if kind == 2 then return wrk.format("POST", "/carts/" .. number) end
  return wrk.format("POST", "/orders/" .. number)
end

done = function(summary, latency)
  local errors = summary.errors
  print(string.format("result %f %d %d %d", summary.requests / summary.duration * 1e6,
    errors.connect + errors.read + errors.write + errors.timeout + errors.status, latency:percentile(50),
    latency:percentile(99)))
end
