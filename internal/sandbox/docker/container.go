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

// labelLifetime is after how many seconds the command ends in any case; 0: never.
const labelLifetime = "omoi.lifetime"

// logSize bounds what the engine keeps of a command's output: at most two files of half of it.
// Beyond that the oldest is lost, and offsets count from what is left.
const logSize = "128m"

// config of a container whose shell reads script, a file of [sandbox.Dir].
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

// hostConfig is what every container of a sandbox is held to.
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
			NanoCPUs: int64(min(limits.CPUs, float64(b.facts.info.NCPU)) * 1e9), // an engine refuses more than it has
			Ulimits:  []*units.Ulimit{{Name: "core"}},
		},
	}
	if b.network != NetworkHost && b.network != NetworkNone {
		host.ExtraHosts = []string{hostName + ":host-gateway"}
	}
	return host
}

// tmpfs are the folders outside of the volumes that may be written. They count as memory, so
// each may take a part of it only.
func tmpfs(memory int64) map[string]string {
	options := func(size int64, mode string) string {
		return fmt.Sprintf("rw,exec,nosuid,nodev,size=%d,mode=%s", size, mode)
	}
	return map[string]string{"/tmp": options(memory/2, "1777"), "/var/tmp": options(memory/8, "1777"), "/run": options(memory/16, "755")}
}

// mounts are the three volumes, each with the size of the disk where the engine can hold it to
// that, and the folder of the API's socket.
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
