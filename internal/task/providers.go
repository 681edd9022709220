package task

import (
	"slices"
	"time"
)

// Names of sandbox providers.
const (
	ProviderLocal    = "local"
	ProviderDocker   = "docker"
	ProviderDaytona  = "daytona"
	ProviderExternal = "external"
	ProviderBare     = "bare" // of an unmanaged sandbox; it is not in [Providers]
)

// Capabilities are what differs between sandbox providers.
type Capabilities struct {
	HostBound     bool          // a sandbox lives on one host: its activities run on the task queue of that host
	Machine       bool          // omoi creates, deletes and verifies its sandboxes; false: their agents run elsewhere
	Exec          bool          // commands, files and logs work
	LongestCreate time.Duration // how late a create request without an answer may still produce a sandbox; zero: fenced
}

// ProviderSpec is what every process knows of a sandbox provider, also one that does not open it.
type ProviderSpec struct {
	Name string // value of the field sandbox
	Capabilities
}

// Providers is the table of sandbox providers. Names in the API, the configuration and the help come from it.
//
//nolint:gochecknoglobals // a table; a test adds a row
var Providers = []ProviderSpec{
	{ProviderLocal, Capabilities{HostBound: true, Machine: true, Exec: true}},
	{ProviderDocker, Capabilities{HostBound: true, Machine: true, Exec: true}},
	{ProviderDaytona, Capabilities{Machine: true, Exec: true}},
	{ProviderExternal, Capabilities{}},
}

// ProviderOf returns the row of a provider; the zero value if there is none.
func ProviderOf(name string) ProviderSpec {
	at := slices.IndexFunc(Providers, func(p ProviderSpec) bool { return p.Name == name })
	if at < 0 {
		return ProviderSpec{}
	}
	return Providers[at]
}

// ProviderNames returns the names of all sandbox providers.
func ProviderNames() []string {
	names := make([]string, len(Providers))
	for i, p := range Providers {
		names[i] = p.Name
	}
	return names
}
