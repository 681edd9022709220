package daytona

import (
	"maps"
	"net/http"
	"time"
)

// State of a sandbox.
type State string

// The states that the emulator has, and those that can be wished for.
const (
	StateBuilding  State = "building_snapshot"
	StateCreating  State = "creating"
	StateStarting  State = "starting"
	StateStarted   State = "started"
	StateStopping  State = "stopping"
	StateStopped   State = "stopped"
	StateArchiving State = "archiving"
	StateArchived  State = "archived"
	StateRestoring State = "restoring"
	StateError     State = "error"
	StateGoing     State = "destroying"
	StateGone      State = "destroyed"
)

// box is a sandbox. Everything in it belongs to the lock of its server, but what never changes.
type box struct {
	id   string
	name string
	cell cell
	seq  int // order of creation

	in       createBody
	labels   map[string]string
	snapshot string
	build    *buildBody
	cpu      int
	memory   int
	disk     int
	target   string

	state    State
	desired  State
	reason   string
	changing bool // every call that changes answers 409
	free     bool // its name may be used again
	jail     *jail

	autoStop, autoArchive, autoDelete int
	destroyAt                         time.Time // zero: never
	created, updated, active, stopped time.Time
	streams                           int // open requests to the toolbox
}

func (b *box) ephemeral() bool { return b.autoDelete == 0 }

func (b *box) aim() aim {
	return aim{id: b.id, name: b.name, snapshot: b.snapshot, withoutRequest: true}
}

// aimAt is a call about this sandbox.
func (b *box) aimAt(r *http.Request) aim {
	return aim{method: r.Method, path: r.URL.Path, id: b.id, name: b.name}
}

func (s *Server) body(b *box) sandboxBody {
	out := sandboxBody{
		ID: b.id, OrganizationID: organization, Name: b.name, Snapshot: b.snapshot, User: or(b.in.User, boxUser),
		Env: maps.Clone(b.in.Env), Labels: maps.Clone(b.labels), Public: b.in.Public, NetworkBlockAll: b.in.NetworkBlockAll,
		NetworkAllowList: b.in.NetworkAllowList, DomainAllowList: b.in.DomainAllowList, Target: b.target,
		CPU: b.cpu, Memory: b.memory, Disk: b.disk, State: b.state, DesiredState: b.desired, ErrorReason: b.reason,
		AutoStopInterval: b.autoStop, AutoArchiveInterval: b.autoArchive, AutoDeleteInterval: b.autoDelete,
		BuildInfo: b.build, CreatedAt: stamp(b.created), UpdatedAt: stamp(b.updated), LastActivityAt: stamp(b.active),
		SandboxClass: className, RunnerID: runnerID, ToolboxProxyURL: s.toolboxURL(),
	}
	if b.state == StateStarted {
		out.DaemonVersion = daemonVersion
	}
	if !b.destroyAt.IsZero() {
		out.AutoDestroyAt = stamp(b.destroyAt)
	}
	return out
}

func (s *Server) toolboxURL() string { return "http://" + s.proxy.Addr().String() + "/toolbox" }

// find looks a sandbox up by id, or by name as long as that is its own.
func (s *Server) find(key string) (*box, error) {
	if b := s.boxes[key]; b != nil {
		return b, nil
	}
	if b := s.named(key); b != nil {
		return b, nil
	}
	return nil, refuse(http.StatusNotFound, "Sandbox with ID or name %s not found", key)
}

func (s *Server) named(name string) *box {
	for _, b := range s.boxes {
		if b.name == name && !b.free {
			return b
		}
	}
	return nil
}
