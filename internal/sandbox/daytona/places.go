package daytona

import "github.com/omoi-dev/omoi/internal/sandbox"

// Folders in a sandbox. Only the home of Daytona's user exists and is writable in every image. With another user, the
// image needs sudo or these folders.
const (
	placeHome      = "/home/daytona"
	placeDir       = placeHome + "/omoi"
	placeWorkspace = placeHome + "/workspace"

	dirCtl  = placeDir + "/.ctl"
	dirTmp  = dirCtl + "/tmp"
	dirExec = dirCtl + "/exec"
	fileLog = dirCtl + "/log"
)

//nolint:gochecknoglobals // a constant
var places = sandbox.Paths{Dir: placeDir, Workspace: placeWorkspace, Home: placeHome, Agent: placeDir + "/bin/omoi-agent"}

// Paths returns the places, which are the same in every sandbox.
func (p *Provider) Paths(sandbox.Labels) sandbox.Paths { return places }
