package docker

import (
	"fmt"
	"path"
	"strconv"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/mount"
	"github.com/docker/go-units"

	"github.com/omoi-dev/omoi/internal/agent/agentconfig"
	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/task"
)

// labelLifetime is the label with the seconds after which the command is killed; 0: never.
const labelLifetime = "omoi.lifetime"

// logSize is the maximum size of each of two log files that the engine keeps of a command's output. The engine deletes
// the oldest output first, and offsets count from the oldest output that is left.
const logSize = "128m"

// config returns the configuration of a container whose shell runs script, a file in [sandbox.Dir].
func (p *Provider) config(image string, labels map[string]string, script string) *container.Config {
	return &container.Config{
		Image: image, Labels: labels, User: strconv.Itoa(p.owner.uid) + ":" + strconv.Itoa(p.owner.gid),
		WorkingDir: sandbox.Workspace, Hostname: "sandbox",
		Env: []string{
			"HOME=" + sandbox.Home, sandbox.EnvDir + "=" + sandbox.Dir, sandbox.EnvWorkspace + "=" + sandbox.Workspace,
		},
		Entrypoint:  []string{"/bin/sh", "-c", ". " + script},
		Healthcheck: &container.HealthConfig{Test: []string{"NONE"}},
	}
}

// hostConfig returns the limits and the isolation of every container of a sandbox.
func (p *Provider) hostConfig(b blank) *container.HostConfig {
	reap, limits := true, b.spec.Limits
	processes := int64(limits.Processes)
	host := &container.HostConfig{
		NetworkMode: container.NetworkMode(b.network), IpcMode: container.IPCModePrivate, CgroupnsMode: container.CgroupnsModePrivate,
		CapDrop: []string{"ALL"}, SecurityOpt: []string{"no-new-privileges"}, ReadonlyRootfs: true,
		Init: &reap, RestartPolicy: container.RestartPolicy{Name: container.RestartPolicyDisabled},
		LogConfig: container.LogConfig{Type: "json-file", Config: map[string]string{"max-size": logSize, "max-file": "2"}},
		Tmpfs:     tmpfs(limits.MemoryBytes), ShmSize: limits.MemoryBytes / 8,
		Resources: container.Resources{
			Memory: limits.MemoryBytes, MemorySwap: limits.MemoryBytes, PidsLimit: &processes,
			// An engine rejects more CPUs than it has.
			NanoCPUs: int64(min(limits.CPUs, float64(b.facts.info.NCPU)) * 1e9),
			Ulimits:  []*units.Ulimit{{Name: "core"}},
		},
	}
	if b.network != NetworkHost && b.network != NetworkNone {
		host.ExtraHosts = []string{hostName + ":host-gateway"}
	}
	return host
}

// tmpfs returns the writable folders outside of the volumes. Their content counts as memory, so each gets a part of the
// memory limit.
func tmpfs(memory int64) map[string]string {
	options := func(size int64, mode string) string {
		return fmt.Sprintf("rw,exec,nosuid,nodev,size=%d,mode=%s", size, mode)
	}
	return map[string]string{"/tmp": options(memory/2, "1777"), "/var/tmp": options(memory/8, "1777"), "/run": options(memory/16, "755")}
}

// mounts returns the three volumes, and the folder of the API socket. Each volume gets the disk limit as its size if
// the engine can enforce sizes.
func (p *Provider) mounts(b blank) []mount.Mount {
	var mounts []mount.Mount
	for _, tree := range []string{sandbox.Dir, sandbox.Workspace, sandbox.Home} {
		options := &mount.VolumeOptions{NoCopy: true, Labels: written(b.spec.Labels, roleFiles)}
		if b.facts.quota && b.spec.Limits.DiskBytes > 0 {
			options.DriverConfig = &mount.Driver{Name: "local", Options: map[string]string{"size": strconv.FormatInt(b.spec.Limits.DiskBytes, 10)}}
		}
		name := task.SandboxName(b.spec.Labels.SandboxID) + "-" + path.Base(tree)
		mounts = append(mounts, mount.Mount{Type: mount.TypeVolume, Source: name, Target: tree, VolumeOptions: options})
	}
	if p.cfg.APISocketDir != "" && b.network != NetworkHost {
		mounts = append(mounts, mount.Mount{Type: mount.TypeBind, Source: p.cfg.APISocketDir, Target: path.Dir(agentconfig.SocketPath), ReadOnly: true})
	}
	return mounts
}

// Labels of all containers and volumes, in addition to those of [sandbox.Labels].
const (
	labelPrefix       = "omoi."
	labelInstallation = labelPrefix + "installation"
	labelRole         = labelPrefix + "role"
	labelArch         = labelPrefix + "arch"      // GOARCH of the image
	labelIsolation    = labelPrefix + "isolation" // isolation features, separated by commas
)

// Values of labelRole.
const (
	roleSandbox = "sandbox"
	roleExec    = "exec"
	roleFiles   = "files"
)

// written returns l and role as labels of a container or volume.
func written(l sandbox.Labels, role string) map[string]string {
	pairs := l.Pairs(labelPrefix)
	pairs[labelRole] = role
	return pairs
}

// labelsOf is the inverse of written, without the role.
func labelsOf(pairs map[string]string) sandbox.Labels { return sandbox.LabelsOf(pairs, labelPrefix) }

// ofInstallation matches the label of an installation.
func ofInstallation(id string) filters.Args {
	return filters.NewArgs(filters.Arg("label", labelInstallation+"="+id))
}

// only matches all of these labels.
func only(l sandbox.Labels) filters.Args {
	args := filters.NewArgs()
	for key, value := range l.Pairs(labelPrefix) {
		args.Add("label", key+"="+value)
	}
	return args
}
