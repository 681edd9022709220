package feedback

import (
	"encoding/json"

	"github.com/omoi-dev/omoi/internal/task"
)

// MayChangeNothing is an execution config that allows it, unless that says otherwise itself. One that cannot be read stays as it is.
func MayChangeNothing(config json.RawMessage) json.RawMessage {
	all, env := map[string]json.RawMessage{}, map[string]json.RawMessage{}
	if len(config) > 0 && json.Unmarshal(config, &all) != nil {
		return config
	}
	if raw := all["env"]; len(raw) > 0 && json.Unmarshal(raw, &env) != nil {
		return config
	}
	if _, set := env[task.EnvRequireChanges]; set {
		return config
	}
	if all == nil {
		all = map[string]json.RawMessage{}
	}
	if env == nil {
		env = map[string]json.RawMessage{}
	}
	env[task.EnvRequireChanges] = json.RawMessage(`"false"`)
	var err error
	if all["env"], err = json.Marshal(env); err != nil {
		return config
	}
	out, err := json.Marshal(all)
	if err != nil {
		return config
	}
	return out
}
