package app

import (
	"github.com/omoi-dev/omoi/config"
	"github.com/omoi-dev/omoi/internal/supervise"
)

// rulesOf returns the numbers of the guardian's rules for this installation: a tool under way counts as work for as
// long as tools may take.
func rulesOf(cfg *config.Loaded) supervise.Settings {
	s := supervise.DefaultSettings()
	s.ToolLimit = cfg.Task.ToolTimeout
	return s
}
