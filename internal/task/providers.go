package task

import "time"

// Names of sandbox providers.
const (
	ProviderLocal     = "local"
	ProviderDocker    = "docker"
	ProviderDaytona   = "daytona"
	ProviderOpenHands = "openhands"
	ProviderExternal  = "external"
	ProviderBare      = "bare" // of an unmanaged sandbox; it is not in [Providers]
)

// Capabilities are the differences between sandbox providers.
type Capabilities struct {
	HostBound     bool          // a sandbox lives on one host: its activities run on the task queue of that host
	Machine       bool          // omoi creates, deletes and verifies its sandboxes; false: their agents run elsewhere
	Exec          bool          // commands, files and logs work
	LongestCreate time.Duration // time after which an unanswered create request can no longer produce a sandbox; zero: creates are fenced
}

// ProviderSpec describes a sandbox provider, also to a process that does not use it.
type ProviderSpec struct {
	Name string // value of the field provider
	Capabilities
}

// Providers is the table of sandbox providers. API, configuration and help take the names from it.
//
//nolint:gochecknoglobals // a table; a test adds a row
var Providers = []ProviderSpec{
	{ProviderLocal, Capabilities{HostBound: true, Machine: true, Exec: true}},
	{ProviderDocker, Capabilities{HostBound: true, Machine: true, Exec: true}},
	{ProviderDaytona, Capabilities{Machine: true, Exec: true}},
	{ProviderOpenHands, Capabilities{Machine: true, Exec: true}},
	{ProviderExternal, Capabilities{}},
}

// ProviderOf returns the row of a provider. A provider that only a newer program knows has sandboxes to verify, so that
// none is left unverified. Unmanaged sandboxes have no capabilities.
func ProviderOf(name string) ProviderSpec {
	for _, p := range Providers {
		if p.Name == name {
			return p
		}
	}
	if name == ProviderBare {
		return ProviderSpec{Name: name}
	}
	return ProviderSpec{name, Capabilities{HostBound: true, Machine: true, Exec: true}}
}

// ProviderNames returns the names of all sandbox providers.
func ProviderNames() []string {
	names := make([]string, len(Providers))
	for i, p := range Providers {
		names[i] = p.Name
	}
	return names
}
