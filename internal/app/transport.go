package app

import (
	"cmp"
	"fmt"
	"net"
	"net/url"
	"strings"

	"github.com/omoi-dev/omoi/config"
	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/task"
)

// transports are how agents of each provider report.
func transports(cfg *config.Loaded) map[string]string {
	daytona := "push"
	if cfg.Daytona.APIKey != "" && !daytonaReports(cfg) {
		daytona = "pull"
	}
	of := func(set, auto string) string {
		if set == "auto" {
			return auto
		}
		return set
	}
	return map[string]string{
		task.ProviderLocal: of(cfg.Transport.Local, "push"), task.ProviderDocker: of(cfg.Transport.Docker, "push"),
		task.ProviderDaytona: of(cfg.Transport.Daytona, daytona),
	}
}

// pulls lists the providers for whose sandboxes a worker carries.
func pulls(cfg *config.Loaded) []string {
	var names []string
	all := transports(cfg)
	for _, name := range []string{task.ProviderLocal, task.ProviderDocker, task.ProviderDaytona} {
		if all[name] == "pull" {
			names = append(names, name)
		}
	}
	return names
}

func callback(cfg *config.Loaded) string { return cmp.Or(cfg.API.CallbackURL, apiURL(cfg)) }

// daytonaReports reports whether an agent at Daytona reaches the API. A Daytona on this machine
// has its sandboxes here.
func daytonaReports(cfg *config.Loaded) bool {
	return !offline(cfg) && (remotelyReached(callback(cfg)) || !remotelyReached(cfg.Daytona.APIURL))
}

// offline reports whether sandboxes reach nothing but a socket, which only this machine's have.
func offline(cfg *config.Loaded) bool { return cfg.Sandbox.Network == string(sandbox.NetworkNone) }

// remotelyReached reports whether an address may be one that other networks reach. A name says
// nothing, unless it can only be one of this network.
func remotelyReached(raw string) bool {
	u, err := url.Parse(raw)
	if err != nil {
		return false
	}
	host := u.Hostname()
	if ip := net.ParseIP(host); ip != nil {
		return !ip.IsLoopback() && !ip.IsPrivate() && !ip.IsUnspecified() && !ip.IsLinkLocalUnicast()
	}
	return strings.Contains(host, ".") && !strings.HasSuffix(host, ".local") && !strings.HasSuffix(host, ".internal")
}

// checkTransport says how agents report, and where they could not.
func checkTransport(cfg *config.Loaded) Finding {
	own := *cfg
	emulator := besideEmulator(&own)
	cfg = &own
	all := transports(cfg)
	found := Finding{Check: "transport", Status: FindingOK, Detail: fmt.Sprintf("local: %s, docker: %s", all[task.ProviderLocal], all[task.ProviderDocker])}
	if cfg.Daytona.APIKey == "" {
		return found
	}
	name := "daytona"
	if emulator {
		name = "the Daytona emulator"
	}
	found.Detail += ", " + name + ": " + all[task.ProviderDaytona]
	switch {
	case daytonaReports(cfg):
	case all[task.ProviderDaytona] == "pull" && offline(cfg):
		found.Detail += ", since sandbox.network is none"
	case all[task.ProviderDaytona] == "pull":
		found.Detail += ", since " + callback(cfg) + " cannot be reached from a cloud"
	case offline(cfg):
		found.Status = FindingWarn
		found.Detail = "agents at Daytona reach nothing, since sandbox.network is none"
		found.Next = "set OMOI_TRANSPORT_DAYTONA=pull or OMOI_SANDBOX_NETWORK=host"
	default:
		found.Status = FindingWarn
		found.Detail = "agents at Daytona cannot reach " + callback(cfg)
		found.Next = "set OMOI_TRANSPORT_DAYTONA=pull, or CALLBACK_URL to an address that a cloud reaches"
	}
	return found
}
