package daytona

import "github.com/omoi-dev/omoi/internal/sandbox"

// The places of a sandbox. Only the home of Daytona's user is sure to be there and to be
// writable; who has another user needs sudo, or these folders in the image.
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

// Paths answers the places, the same for every sandbox.
func (p *Provider) Paths(sandbox.Labels) sandbox.Paths { return places }
