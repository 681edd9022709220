package agent

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/omoi-dev/omoi/internal/agent/agentconfig"
	"github.com/omoi-dev/omoi/internal/agent/apiclient"
	"github.com/omoi-dev/omoi/internal/agent/reporter"
	"github.com/omoi-dev/omoi/internal/agent/spool"
)

// Flush sends what an agent that has ended left in its spool, until all of it is acknowledged,
// the API wants nothing more, or ctx ends. A spool that somebody holds is [spool.ErrLocked]: its
// agent lives, and sends by itself.
func Flush(ctx context.Context, cfg agentconfig.Config, deps Deps) error {
	cfg = withDefaults(cfg)
	sp, err := spool.Open(filepath.Join(cfg.Dir, SpoolName), spool.Config{Limit: cfg.SpoolBytes})
	if err != nil {
		return err
	}
	defer func() { _ = sp.Close() }()
	line, err := apiclient.New(apiclient.Config{APIURL: cfg.APIURL, Token: cfg.Token, SandboxID: cfg.SandboxID})
	if err != nil {
		return err
	}
	defer line.Close()
	report := reporter.New(reporter.Config{SandboxID: cfg.SandboxID, TaskID: cfg.TaskID, AgentID: agentID(cfg)}, sp, line, deps.Log)
	sending, stop := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = report.Run(sending) // Flush tells how it ended
	}()
	err = report.Flush(ctx)
	stop()
	<-ended
	if errors.Is(err, reporter.ErrGone) {
		return nil
	}
	return err
}
