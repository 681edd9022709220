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

// pulls lists the providers whose sandboxes a worker reads.
func pulls(cfg *config.Loaded) (names []string) {
	for _, name := range task.ProviderNames() {
		set, reached := cfg.Transport.ByProvider[name], wirings[name].reached
		if set != nil && (*set == task.TransportPull || *set == "auto" && reached != nil && configured(cfg, name) && !reached(cfg)) {
			names = append(names, name)
		}
	}
	return names
}

func callback(cfg *config.Loaded) string { return cmp.Or(cfg.API.CallbackURL, apiURL(cfg)) }

// daytonaReports reports whether an agent at Daytona reaches the API. A Daytona on this machine
// has its sandboxes here. Without network they reach nothing but a socket, which only this machine's have.
func daytonaReports(cfg *config.Loaded) bool {
	return cfg.Sandbox.Network != string(sandbox.NetworkNone) && (remotelyReached(callback(cfg)) || !remotelyReached(cfg.Daytona.APIURL))
}

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
