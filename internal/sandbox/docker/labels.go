package docker

import (
	"strconv"
	"strings"

	"github.com/docker/docker/api/types/filters"

	"github.com/omoi-dev/omoi/internal/sandbox"
)

// The labels of everything that this package makes.
const (
	labelInstallation = "omoi.installation"
	labelTask         = "omoi.task"
	labelAttempt      = "omoi.attempt"
	labelSandbox      = "omoi.sandbox"
	labelRole         = "omoi.role"
	labelArch         = "omoi.arch"      // of what runs inside
	labelIsolation    = "omoi.isolation" // what keeps it apart, with commas between
)

// The roles of containers and volumes.
const (
	roleSandbox = "sandbox"
	roleExec    = "exec"
	roleFiles   = "files"
)

// written puts l and a role on a container or volume.
func written(l sandbox.Labels, role string) map[string]string {
	return map[string]string{
		labelInstallation: l.Installation, labelTask: l.TaskID, labelAttempt: strconv.Itoa(l.Attempt),
		labelSandbox: l.SandboxID, labelRole: role,
	}
}

// labelsOf reads them back; an attempt that is no number fits none of ours.
func labelsOf(m map[string]string) sandbox.Labels {
	attempt, err := strconv.Atoi(m[labelAttempt])
	if err != nil {
		attempt = -1
	}
	return sandbox.Labels{Installation: m[labelInstallation], TaskID: m[labelTask], Attempt: attempt, SandboxID: m[labelSandbox]}
}

// only finds what carries all of these labels.
func only(l sandbox.Labels) filters.Args {
	args := filters.NewArgs()
	for key, value := range written(l, "") {
		if key != labelRole {
			args.Add("label", key+"="+value)
		}
	}
	return args
}

func splitList(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, ",")
}
