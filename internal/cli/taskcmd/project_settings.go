package taskcmd

import (
	"time"

	"github.com/spf13/cobra"
)

// projectSettings are the flags that create and update share.
type projectSettings struct {
	slots           int
	alone           bool
	feedback, setup string
	limit           time.Duration
}

func (p *projectSettings) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.IntVar(&p.slots, "max-concurrent-tasks", 0, "how many of its tasks may run at a time; a new project: MAX_CONCURRENT_TASKS_PER_PROJECT of the server")
	flags.BoolVar(&p.alone, "autonomous-execution", false, "whether tasks start that omoi itself created; those of users always do; a new project: true")
	flags.StringVar(&p.feedback, "on-feedback", "", "what reviews and failed checks on GitHub do: off, message (tell the running agent) or revise (and start a task where none is); needs a webhook, see docs/GITHUB.md")
	flags.StringVar(&p.setup, "setup", "", "shell `command` that runs in each sandbox before the agent; empty for none")
	flags.DurationVar(&p.limit, "setup-timeout", 0, "how long it may take, as 5m; 0 for 15 minutes")
}
