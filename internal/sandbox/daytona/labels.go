package daytona

import (
	"maps"
	"strconv"

	"github.com/omoi-dev/omoi/internal/sandbox"
)

// The labels of a sandbox. No secret is among them: everybody in the organization sees them.
const (
	labelInstallation = "omoi-installation"
	labelTask         = "omoi-task"
	labelAttempt      = "omoi-attempt"
	labelSandbox      = "omoi-sandbox"
)

func toLabels(l sandbox.Labels) map[string]string {
	return map[string]string{
		labelInstallation: l.Installation, labelTask: l.TaskID,
		labelAttempt: strconv.Itoa(l.Attempt), labelSandbox: l.SandboxID,
	}
}

// fromLabels reads what toLabels wrote; false if it did not.
func fromLabels(m map[string]string) (sandbox.Labels, bool) {
	attempt, err := strconv.Atoi(m[labelAttempt])
	l := sandbox.Labels{Installation: m[labelInstallation], TaskID: m[labelTask], Attempt: attempt, SandboxID: m[labelSandbox]}
	return l, err == nil && l.Check() == nil
}

// agree reports whether all labels of ours are there; people may have added others.
func agree(have map[string]string, want sandbox.Labels) bool {
	ours := maps.Clone(have)
	wanted := toLabels(want)
	maps.DeleteFunc(ours, func(key, _ string) bool { _, ok := wanted[key]; return !ok })
	return maps.Equal(ours, wanted)
}
