package daytona

import "time"

// sandboxBody is a sandbox as the API tells of it. A list leaves out the environment.
type sandboxBody struct {
	ID                  string            `json:"id"`
	OrganizationID      string            `json:"organizationId"`
	Name                string            `json:"name"`
	Snapshot            string            `json:"snapshot,omitempty"`
	User                string            `json:"user"`
	Env                 map[string]string `json:"env,omitzero"`
	Labels              map[string]string `json:"labels"`
	Public              bool              `json:"public"`
	NetworkBlockAll     bool              `json:"networkBlockAll"`
	NetworkAllowList    string            `json:"networkAllowList,omitempty"`
	DomainAllowList     string            `json:"domainAllowList,omitempty"`
	Target              string            `json:"target"`
	CPU                 int               `json:"cpu"`
	GPU                 int               `json:"gpu"`
	Memory              int               `json:"memory"`
	Disk                int               `json:"disk"`
	State               State             `json:"state"`
	DesiredState        State             `json:"desiredState"`
	ErrorReason         string            `json:"errorReason,omitempty"`
	Recoverable         bool              `json:"recoverable"`
	AutoStopInterval    int               `json:"autoStopInterval"`
	AutoArchiveInterval int               `json:"autoArchiveInterval"`
	AutoDeleteInterval  int               `json:"autoDeleteInterval"`
	AutoDestroyAt       string            `json:"autoDestroyAt,omitempty"`
	BuildInfo           *buildBody        `json:"buildInfo,omitempty"`
	CreatedAt           string            `json:"createdAt"`
	UpdatedAt           string            `json:"updatedAt"`
	LastActivityAt      string            `json:"lastActivityAt"`
	SandboxClass        string            `json:"sandboxClass"`
	DaemonVersion       string            `json:"daemonVersion,omitempty"`
	RunnerID            string            `json:"runnerId,omitempty"`
	ToolboxProxyURL     string            `json:"toolboxProxyUrl"`
}

type buildBody struct {
	DockerfileContent string   `json:"dockerfileContent"`
	ContextHashes     []string `json:"contextHashes,omitempty"`
	CreatedAt         string   `json:"createdAt"`
	UpdatedAt         string   `json:"updatedAt"`
	SnapshotRef       string   `json:"snapshotRef"`
}

// createBody is what create takes. Pointers are what differs between absent and zero. What
// the emulator does not have is read to be refused.
type createBody struct {
	Name                string            `json:"name"`
	Snapshot            string            `json:"snapshot"`
	User                string            `json:"user"`
	Env                 map[string]string `json:"env"`
	Labels              map[string]string `json:"labels"`
	Public              bool              `json:"public"`
	NetworkBlockAll     bool              `json:"networkBlockAll"`
	NetworkAllowList    string            `json:"networkAllowList"`
	DomainAllowList     string            `json:"domainAllowList"`
	Target              string            `json:"target"`
	CPU                 *int              `json:"cpu"`
	GPU                 int               `json:"gpu"`
	Memory              *int              `json:"memory"`
	Disk                *int              `json:"disk"`
	AutoStopInterval    *int              `json:"autoStopInterval"`
	AutoPauseInterval   *int              `json:"autoPauseInterval"`
	AutoArchiveInterval *int              `json:"autoArchiveInterval"`
	AutoDeleteInterval  *int              `json:"autoDeleteInterval"`
	TTLMinutes          *int              `json:"ttlMinutes"`
	Volumes             []any             `json:"volumes"`
	LinkedSandbox       string            `json:"linkedSandbox"`
	Secrets             []any             `json:"secrets"`
	BuildInfo           *struct {
		DockerfileContent string   `json:"dockerfileContent"`
		ContextHashes     []string `json:"contextHashes"`
	} `json:"buildInfo"`
}

type listBody struct {
	Items      []sandboxBody `json:"items"`
	NextCursor *string       `json:"nextCursor"`
}

type snapshotBody struct {
	ID              string   `json:"id"`
	General         bool     `json:"general"`
	Name            string   `json:"name"`
	ImageName       string   `json:"imageName"`
	State           string   `json:"state"`
	Size            *float64 `json:"size"`
	Entrypoint      []string `json:"entrypoint"`
	CPU             int      `json:"cpu"`
	GPU             int      `json:"gpu"`
	Mem             int      `json:"mem"`
	Disk            int      `json:"disk"`
	ErrorReason     *string  `json:"errorReason"`
	CreatedAt       string   `json:"createdAt"`
	UpdatedAt       string   `json:"updatedAt"`
	LastUsedAt      *string  `json:"lastUsedAt"`
	RegionIDs       []string `json:"regionIds"`
	SourceSandboxID *string  `json:"sourceSandboxId"`
	SandboxClass    string   `json:"sandboxClass"`
}

const (
	organization  = "00000000-0000-4000-8000-000000000001"
	runnerID      = "runner-of-the-emulator"
	className     = "container"
	daemonVersion = "0.190.0"
)

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }
