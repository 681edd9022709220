package daytona

import (
	"strings"

	"github.com/omoi-dev/omoi/internal/sandbox"
)

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

// Paths answers the places, the same for every sandbox.
func (p *Provider) Paths(sandbox.Labels) sandbox.Paths {
	return sandbox.Paths{Dir: placeDir, Workspace: placeWorkspace, Home: placeHome, Agent: translate(sandbox.AgentPath)}
}

// translate turns one of the constants of package sandbox, or what lies below one, into the place.
func translate(name string) string {
	for constant, place := range map[string]string{sandbox.Dir: placeDir, sandbox.Workspace: placeWorkspace, sandbox.Home: placeHome} {
		if rest, ok := strings.CutPrefix(name, constant); ok && (rest == "" || rest[0] == '/') {
			return place + rest
		}
	}
	return name
}
