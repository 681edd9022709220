// Command manpages writes a man page for each command of omoi into a folder: go run ./internal/tools/manpages dist/man
package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra/doc"

	"github.com/omoi-dev/omoi/internal/cli"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "manpages:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("expected one folder, got %d arguments", len(args))
	}
	if err := os.MkdirAll(args[0], 0o755); err != nil { //nolint:gosec // G301: a folder of documentation
		return fmt.Errorf("create the folder: %w", err)
	}
	root := cli.Root()
	root.DisableAutoGenTag = true // the same commit gives the same bytes
	if err := doc.GenManTree(root, &doc.GenManHeader{Title: "OMOI", Section: "1", Source: "omoi", Manual: "omoi manual"}, args[0]); err != nil {
		return fmt.Errorf("write man pages: %w", err)
	}
	return nil
}
