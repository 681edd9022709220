package docker

import (
	"github.com/docker/docker/api/types/filters"

	"github.com/omoi-dev/omoi/internal/sandbox"
)

// The labels of everything that this package makes, beside those of [sandbox.Labels].
const (
	labelPrefix       = "omoi."
	labelInstallation = labelPrefix + "installation"
	labelRole         = labelPrefix + "role"
	labelArch         = labelPrefix + "arch"      // of what runs inside
	labelIsolation    = labelPrefix + "isolation" // what keeps it apart, with commas between
)

// The roles of containers and volumes.
const (
	roleSandbox = "sandbox"
	roleExec    = "exec"
	roleFiles   = "files"
)

// written puts l and a role on a container or volume.
func written(l sandbox.Labels, role string) map[string]string {
	pairs := l.Pairs(labelPrefix)
	pairs[labelRole] = role
	return pairs
}

// labelsOf reads them back.
func labelsOf(pairs map[string]string) sandbox.Labels { return sandbox.LabelsOf(pairs, labelPrefix) }

// ofInstallation finds what carries the installation's label.
func ofInstallation(id string) filters.Args {
	return filters.NewArgs(filters.Arg("label", labelInstallation+"="+id))
}

// only finds what carries all of these labels.
func only(l sandbox.Labels) filters.Args {
	args := filters.NewArgs()
	for key, value := range l.Pairs(labelPrefix) {
		args.Add("label", key+"="+value)
	}
	return args
}
