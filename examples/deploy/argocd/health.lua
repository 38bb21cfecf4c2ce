-- Health of NodeGroup and NodeGroupPolicy for Argo CD, from conditions as kstatus reads them. A group that is held is Healthy:
-- that its replicas are somebody else's is no fault, and Suspended or Progressing would keep every later sync wave waiting.
local status = obj.status
if status == nil or status.observedGeneration ~= obj.metadata.generation then
  return { status = "Progressing", message = "not judged yet: does the reconciler run?" }
end
local found = {}
for _, condition in ipairs(status.conditions or {}) do
  found[condition.type] = condition
end
local function is(kind, value)
  return found[kind] ~= nil and found[kind].status == value
end
if is("Stalled", "True") then
  return { status = "Degraded", message = found.Stalled.message }
end
if is("Held", "True") then
  return { status = "Healthy", message = "held: " .. (found.Held.message or "") }
end
if is("Ready", "True") then
  return { status = "Healthy", message = found.Ready.message }
end
local waiting = found.Reconciling
if not is("Reconciling", "True") then
  waiting = found.Ready
end
return { status = "Progressing", message = waiting and waiting.message or "no condition yet" }
