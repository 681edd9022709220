package standin_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/omoi-dev/omoi/internal/sandbox/daytona/standin"
)

// TestMain is also the stand-in that is killed.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "serve" {
		os.Exit(serve(standin.Isolation(os.Args[2]))) //nolint:forbidigo // this is a main
	}
	goleak.VerifyTestMain(m)
}

func serve(isolation standin.Isolation) int {
	s, err := standin.Start(context.Background(), standin.Options{Isolation: isolation})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Fprintln(os.Stdout, s.URL())
	fmt.Fprintln(os.Stdout, s.Key())
	fmt.Fprintln(os.Stdout, s.Isolation())
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	if err := s.Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}
