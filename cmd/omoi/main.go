// Command omoi runs AI coding agents durably. See the README, or omoi help.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/omoi-dev/omoi/internal/cli"
	"github.com/omoi-dev/omoi/internal/sandbox/local"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "shim" { // between a provider and a sandbox, not for people
		os.Exit(local.ShimMain(os.Args[2:]))
	}
	os.Exit(run())
}

// sameWish is for how long further signals say what the first one said: what runs us may pass a Ctrl-C on that has
// reached us already.
const sameWish = time.Second

func run() int {
	ends := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // nohup ignores it
		ends = append(ends, syscall.SIGHUP) // a closed terminal
	}
	ctx, stop := signal.NotifyContext(context.Background(), ends...)
	defer stop()
	context.AfterFunc(ctx, func() { time.AfterFunc(sameWish, stop) }) // from then on another one ends the process at once
	return cli.Run(ctx, os.Args[1:], os.Environ(), os.Stdin, os.Stdout, os.Stderr)
}
