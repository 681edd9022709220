package daytona_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	daytonatest "github.com/omoi-dev/omoi/internal/testkit/daytona"
)

// TestMain is also the emulator that is killed.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "serve" {
		os.Exit(serve(daytonatest.Isolation(os.Args[2]))) //nolint:forbidigo // this is a main
	}
	goleak.VerifyTestMain(m)
}

func serve(isolation daytonatest.Isolation) int {
	s, err := daytonatest.Start(context.Background(), daytonatest.Options{Isolation: isolation})
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
