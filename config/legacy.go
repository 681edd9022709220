package config

import (
	"net/url"
	"strings"

	"github.com/omoi-dev/omoi/internal/task"
)

// Paths after the base URL in CALLBACK_URL and MESSAGE_POLL_URL of OmoiOS.
const (
	legacyEvents   = "/sandbox/events"
	legacyMessages = "/sandbox/messages"
)

// legacyBase returns the base URL of the API from a callback URL of OmoiOS.
func legacyBase(raw string) string {
	raw = strings.TrimRight(raw, "/")
	for _, path := range []string{legacyEvents, legacyMessages} {
		if base, ok := strings.CutSuffix(raw, path); ok {
			return base
		}
	}
	return raw
}

// legacy applies the OmoiOS variables that have no setting of their own, and returns the faults of unsupported values.
func (l *Loaded) legacy(layers []layer) (faults []string) {
	l.API.CallbackURL = legacyBase(l.API.CallbackURL)
	if u, err := url.Parse(l.API.CallbackURL); err == nil && (u.RawQuery != "" || u.Fragment != "") {
		faults = append(faults, "api.callback_url: agents append paths to this URL, so that it must end without a query and a fragment")
	}
	if where, raw := variable(layers, "MESSAGE_POLL_URL"); raw != "" && (l.API.CallbackURL == "" || legacyBase(raw) != l.API.CallbackURL) {
		faults = append(faults, "MESSAGE_POLL_URL ("+where+"): agents take messages from the API at CALLBACK_URL. "+
			"Give both the same base URL, or leave MESSAGE_POLL_URL out")
	}
	if l.Daytona.Execution {
		faults = append(faults, l.useDaytona())
	}
	faults = append(faults, l.useWorkspaceMode(variable(layers, "WORKSPACE_MODE")))
	if where, host := variable(layers, "AGENT_SERVER_HOST"); host != "" && host != "localhost" && host != "127.0.0.1" {
		faults = append(faults, "AGENT_SERVER_HOST ("+where+"): the server that omoi starts listens on loopback. For another server, set WORKSPACE_REMOTE_HOST")
	}
	return nonEmpty(faults)
}

// useWorkspaceMode sets the default provider as WORKSPACE_MODE did. A setting of omoi takes precedence.
func (l *Loaded) useWorkspaceMode(where, mode string) string {
	provider, known := map[string]string{
		"local": task.ProviderLocal, "docker": task.ProviderDocker, "daytona": task.ProviderDaytona, "remote": task.ProviderOpenHands,
	}[mode]
	switch {
	case mode == "" || l.Given("task.provider") || l.Daytona.Execution:
	case !known:
		return "WORKSPACE_MODE (" + where + "): must be local, docker, daytona or remote"
	default:
		l.Task.Provider = provider
	}
	return ""
}

// useDaytona makes Daytona the default provider, as DAYTONA_SANDBOX_EXECUTION did.
func (l *Loaded) useDaytona() string {
	switch {
	case l.Daytona.APIKey == "":
		return "daytona.sandbox_execution: sandboxes at Daytona need a key. Set DAYTONA_API_KEY, or leave DAYTONA_SANDBOX_EXECUTION out"
	case l.Given("task.provider") && l.Task.Provider != task.ProviderDaytona:
		return "daytona.sandbox_execution: it asks for sandboxes at Daytona, and task.provider is " + l.Task.Provider + ". Leave one of the two out"
	}
	l.Task.Provider = task.ProviderDaytona
	return ""
}

// variable returns the value of a variable without a setting, and its origin.
func variable(layers []layer, name string) (where, raw string) {
	for _, l := range layers {
		if raw = l.values[name]; raw != "" {
			return l.name, raw
		}
	}
	return "", ""
}
