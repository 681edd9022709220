package app

import (
	"cmp"
	"net"
	"net/url"
	"strings"

	"github.com/omoi-dev/omoi/config"
	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/task"
)

// transports are how agents of each provider report.
func transports(cfg *config.Loaded) map[string]string {
	all := map[string]string{}
	for name, set := range cfg.Transport.ByProvider {
		all[name] = *set
		switch {
		case *set != "auto":
		case configured(cfg, name) && !reached(cfg, name):
			all[name] = task.TransportPull
		default:
			all[name] = task.TransportPush
		}
	}
	return all
}

// pulls lists the providers whose sandboxes a worker reads.
func pulls(cfg *config.Loaded) (names []string) {
	all := transports(cfg)
	for _, name := range task.ProviderNames() {
		if all[name] == task.TransportPull {
			names = append(names, name)
		}
	}
	return names
}

// reached reports whether agents in the sandboxes of a provider reach the API.
func reached(cfg *config.Loaded, name string) bool {
	reports := wirings[name].reached
	return reports == nil || reports(cfg)
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
	besideEmulator(&own)
	cfg = &own
	all := transports(cfg)
	found := Finding{Check: "transport", Status: FindingOK}
	var parts []string
	for _, name := range task.ProviderNames() {
		part := name + ": " + all[name]
		switch why, change := unreached(cfg); {
		case all[name] == "" || !configured(cfg, name):
			continue
		case reached(cfg, name):
		case all[name] == task.TransportPull:
			part += ", since " + why
		default:
			part += ", but " + why
			found.Status, found.Next = FindingWarn, "set OMOI_TRANSPORT_"+strings.ToUpper(name)+"=pull, or "+change
		}
		parts = append(parts, part)
	}
	found.Detail = strings.Join(parts, ", ")
	return found
}

// unreached says why agents elsewhere do not reach the API, and which setting changes that.
func unreached(cfg *config.Loaded) (why, change string) {
	if offline(cfg) {
		return "sandbox.network is none", "OMOI_SANDBOX_NETWORK=host"
	}
	return callback(cfg) + " cannot be reached from a cloud", "CALLBACK_URL to an address that a cloud reaches"
}
