package task

import "time"

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
	Name string // value of the field provider
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

// ProviderOf returns the row of a provider. One that only a newer binary knows counts as a machine, so that no sandbox of it is left
// unverified. Unmanaged sandboxes have no capabilities.
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
