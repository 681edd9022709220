package daytona

import "github.com/omoi-dev/omoi/internal/sandbox"

// The labels of a sandbox. No secret is among them: everybody in the organization sees them.
const (
	labelPrefix       = "omoi-"
	labelInstallation = labelPrefix + "installation"
)

// agree reports whether all labels of ours are there; people may have added others.
func agree(have map[string]string, want sandbox.Labels) bool {
	return sandbox.LabelsOf(have, labelPrefix) == want
}
