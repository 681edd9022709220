package app

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/omoi-dev/omoi/config"
)

// inotifyLimits is the folder of the host's limits of inotify.
const inotifyLimits = "/proc/sys/fs/inotify"

// checkWatches compares the host's limits of inotify with what its sandboxes may need. omoi-agent watches each folder of a workspace that
// git does not ignore.
func checkWatches(cfg *config.Loaded) Finding {
	watches, err := readLimit("max_user_watches")
	if err != nil {
		return Finding{Check: "inotify", Status: FindingOK, Detail: "no limits on this system"}
	}
	instances, _ := readLimit("max_user_instances")
	return judgeWatches(watches, instances, cfg.Worker.MaxSandboxes)
}

func readLimit(name string) (int, error) {
	text, err := os.ReadFile(filepath.Join(inotifyLimits, name))
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(text)))
}

// judgeWatches expects a folder tree of 4,000 folders, and the instance of omoi-agent with one of a tool, for each sandbox.
func judgeWatches(watches, instances, sandboxes int) Finding {
	const folders, programs = 4000, 2
	found := Finding{Check: "inotify", Status: FindingOK, Detail: fmt.Sprintf(
		"fs.inotify.max_user_watches %d, max_user_instances %d: all sandboxes of one user ID share them", watches, instances)}
	if watches >= folders*sandboxes && instances >= programs*sandboxes {
		return found
	}
	found.Status = FindingWarn
	found.Detail += fmt.Sprintf(", which may be too few for %d sandboxes. Without watches, omoi-agent reads all files for each checkpoint: "+
		"at most every 15 seconds, for at most 2 %% of a processor", sandboxes)
	found.Next = fmt.Sprintf("sysctl -w fs.inotify.max_user_watches=%d fs.inotify.max_user_instances=%d",
		max(watches, folders*sandboxes), max(instances, programs*sandboxes))
	return found
}
