package app

import (
	"errors"
	"syscall"

	"github.com/omoi-dev/omoi/config"
	"github.com/omoi-dev/omoi/internal/devstack"
)

// besideEmulator points a configuration that has no key at the Daytona emulator of the omoi dev that runs in the
// same home. It answers whether there is one.
func besideEmulator(cfg *config.Loaded) bool {
	if cfg.Daytona.APIKey != "" {
		return false
	}
	info, err := devstack.ReadInfo(cfg.Home)
	if err != nil || info.DaytonaURL == "" || !runs(info.PID) {
		return false
	}
	cfg.Daytona.APIURL, cfg.Daytona.APIKey = info.DaytonaURL, config.Secret(info.DaytonaKey)
	return true
}

// runs reports whether a process is there; dev.json outlives one that was killed.
func runs(pid int) bool {
	return pid > 0 && !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
}
