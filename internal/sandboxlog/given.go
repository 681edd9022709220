package sandboxlog

import (
	"context"
	"encoding/json"
	"io"
	"maps"

	"github.com/omoi-dev/omoi/internal/agent/agentconfig"
	"github.com/omoi-dev/omoi/internal/sandbox"
)

// source is where a log comes from.
type source struct {
	provider sandbox.Provider
	labels   sandbox.Labels
	taskID   string // empty: the task is gone
}

// What is read of an agent's configuration is bounded: what runs there may have changed it.
const (
	mostGiven    = 4 << 20
	longestValue = 16 << 10 // no credential is longer
	mostValues   = 128 << 10
)

// given is the environment that the agent was given: a credential may have been replaced or
// removed since, and stands in no other place any more. Nothing where the file is not there, or
// was changed: then what is given now counts alone.
func (s source) given(ctx context.Context) map[string]string {
	f, err := s.provider.ReadFile(ctx, s.labels, agentconfig.ConfigPath)
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }()
	var told struct {
		Env map[string]string `json:"env"`
	}
	_ = json.NewDecoder(io.LimitReader(f, mostGiven)).Decode(&told) // what cannot be read tells nothing
	left := mostValues
	maps.DeleteFunc(told.Env, func(_, value string) bool {
		if len(value) > longestValue || len(value) > left {
			return true
		}
		left -= len(value)
		return false
	})
	return told.Env
}
