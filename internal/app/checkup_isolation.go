package app

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/omoi-dev/omoi/config"
	"github.com/omoi-dev/omoi/internal/hostfault"
)

// checkIsolation opens the local provider over a temporary folder and returns the isolation of its sandboxes.
func checkIsolation(cfg *config.Loaded) []Finding {
	bwrap := checkProgram("bwrap", FindingWarn, "install bubblewrap, 0.8 or newer: sandboxes are process groups without it")
	bwrap.Check = "bubblewrap"
	if bwrap.Status != FindingOK && switchedOff(cfg) {
		bwrap = Finding{Check: bwrap.Check, Status: FindingOK, Detail: "not on PATH, and not required by sandbox.isolation"}
	}
	active, why, err := isolation(*cfg)
	if err != nil {
		return []Finding{bwrap, {Check: "isolation", Status: FindingFail, Detail: firstLine(err), Next: "see sandbox.isolation in docs/CONFIGURATION.md"}}
	}
	return []Finding{bwrap, walls(cfg, active, why), judgeLimits(active)}
}

// walls returns the finding on isolation, with the reason if bubblewrap is not active.
func walls(cfg *config.Loaded, active []string, why string) Finding {
	found := judgeIsolation(cfg, active)
	if why == "" || switchedOff(cfg) {
		return found
	}
	found.Detail += ": " + why
	if hostfault.InText(why) {
		found.Next = "bubblewrap could not be tested: free disk space or memory of this machine, then run omoi doctor again"
	}
	return found
}

// judgeLimits returns the finding on resource limits of sandboxes.
func judgeLimits(active []string) Finding {
	found := Finding{Check: "sandbox limits", Status: FindingOK}
	var have, lack []string
	for _, l := range []struct {
		what  string
		parts []string
	}{
		{"memory", []string{"cgroup-memory"}},
		{"CPU", []string{"cgroup-cpu"}},
		{"processes", []string{"cgroup-pids", "rlimit-processes"}},
		{"disk (watched)", []string{"disk-watch"}},
	} {
		if slices.ContainsFunc(l.parts, func(part string) bool { return slices.Contains(active, part) }) {
			have = append(have, l.what)
		} else {
			lack = append(lack, l.what)
		}
	}
	found.Detail = strings.Join(have, ", ")
	if len(lack) > 0 {
		found.Status = FindingWarn
		found.Detail = fmt.Sprintf("an agent can use all resources of this machine: no limit on %s", strings.Join(lack, ", "))
		found.Next = "run omoi as root where control groups can be created, or use another sandbox provider; see docs/SECURITY.md"
	}
	return found
}

func switchedOff(cfg *config.Loaded) bool { return cfg.Sandbox.Isolation == "none" }

// judgeIsolation returns the finding on the active isolation features.
func judgeIsolation(cfg *config.Loaded, active []string) Finding {
	found := Finding{Check: "isolation", Status: FindingOK, Detail: strings.Join(active, ", ")}
	if slices.Contains(active, "bubblewrap") {
		return judgeWalls(found, active)
	}
	found.Status = FindingWarn
	why, next := "bubblewrap does not work here", "set sandbox.isolation to require to refuse that"
	if switchedOff(cfg) {
		why, next = "sandbox.isolation switches bubblewrap off", "set it to auto to switch it on"
	}
	if cfg.Sandbox.Network == "none" {
		found.Status, next = FindingFail, "no task can run, since sandbox.network is none and that needs bubblewrap; set it to host, or install bubblewrap"
	}
	found.Next = fmt.Sprintf("%s: %s; %s", why, agentsRights(active), next)
	return found
}

// judgeWalls adds a warning if bubblewrap is active without seccomp or with nested user namespaces.
func judgeWalls(found Finding, active []string) Finding {
	if !slices.Contains(active, "seccomp") || !slices.Contains(active, "no-nested-userns") {
		found.Status = FindingWarn
		found.Next = "system calls are not filtered, or an agent can create user namespaces: install bubblewrap 0.8 or newer; see docs/SECURITY.md"
	}
	return found
}

// agentsRights describes the access of an agent without bubblewrap to this machine.
func agentsRights(active []string) string {
	if slices.Contains(active, "uid") {
		return "agents run as separate users, and can read what every user of this machine can read"
	}
	return "agents run with your own rights"
}

// isolation returns the isolation features of a local sandbox, and why bubblewrap is not active; why is empty if
// bubblewrap is active.
func isolation(cfg config.Loaded) (active []string, why string, err error) {
	dir, err := besideSandboxes(&cfg)
	if err != nil {
		return nil, "", err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if cfg.API.Socket != "" {
		cfg.API.Socket = filepath.Join(dir, "api", "api.sock") // the real folder may not exist yet
		if err := makeSocketDir(cfg.API.Socket); err != nil {
			return nil, "", err
		}
	}
	provider, err := newLocal(&cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, "", err
	}
	return provider.Isolation(), provider.Unwrapped(), nil
}
