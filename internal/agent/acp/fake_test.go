package acp_test

import (
	"context"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/omoi-dev/omoi/internal/agent"
	"github.com/omoi-dev/omoi/internal/agent/proc"
	"github.com/omoi-dev/omoi/internal/openhands/bridge"
	acptest "github.com/omoi-dev/omoi/internal/testkit/acp"
)

// Variables of the fake agent. If fakeDir is set, the test binary is the agent.
const (
	fakeDir     = "OMOI_FAKE_ACP"
	fakeAgent   = "OMOI_FAKE_AGENT"
	fakeSession = "OMOI_FAKE_SESSION"
	fakeDoes    = "OMOI_FAKE_DOES" // hold, child or die
	fakeKeeps   = "OMOI_FAKE_KEEPS"
	fakeMode    = "OMOI_FAKE_MODE"
	fakeCommits = "OMOI_FAKE_COMMITS"
	fakeDamage  = "OMOI_FAKE_DAMAGE" // copies with damage before each message
	fakeSpoils  = "OMOI_FAKE_SPOILS" // method of the request whose answer is damaged
	fakeSeed    = "OMOI_FAKE_SEED"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(fakeDir); dir != "" {
		if len(os.Args) > 2 && os.Args[1] == "import" {
			takeSession(dir, os.Args[2])
			return
		}
		if len(os.Args) > 3 && os.Args[2] == "--port" {
			tellChanges(os.Args[3], recordedID(os.Getenv(fakeAgent)))
		}
		does := os.Getenv(fakeDoes)
		copies, _ := strconv.Atoi(os.Getenv(fakeDamage))
		seed, _ := strconv.ParseUint(os.Getenv(fakeSeed), 10, 64)
		p := acptest.Player{
			Agent: os.Getenv(fakeAgent), Session: os.Getenv(fakeSession), Dir: dir, Remember: os.Getenv(fakeKeeps), Secret: plantedKey, Mode: os.Getenv(fakeMode), Model: os.Getenv("OPENAI_BASE_URL"),
			Hold: does == "hold", Child: does == "child", Die: does == "die", Commit: os.Getenv(fakeCommits) != "",
			Damage: copies, Spoil: os.Getenv(fakeSpoils), Seed: seed,
		}
		p.Play(os.Stdin, os.Stdout)
		return
	}
	if os.Getenv(fakeBridge) != "" {
		bridge.Serve(context.Background(), bridge.Config{Vars: agent.Variables(os.Environ()), Room: time.Second}, os.Stdin, os.Stdout)
		return
	}
	if err := proc.Adopt(); err != nil {
		panic(err)
	}
	m.Run()
}

// takeSession keeps the file that the program is to import.
func takeSession(dir, path string) {
	text, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "imported"), text, 0o600)
	}
	if err != nil {
		panic(err)
	}
}

// tellChanges tells the recorded changes of a session at a port.
func tellChanges(port, session string) {
	in, err := net.Listen("tcp", "127.0.0.1:"+port)
	if err != nil {
		panic(err)
	}
	go func() {
		panic(http.Serve(in, acptest.Teller{
			Session: session, Printed: plantedKey, User: os.Getenv("OPENCODE_SERVER_USERNAME"), Password: os.Getenv("OPENCODE_SERVER_PASSWORD"),
		}))
	}()
}

// recordedID returns the ID of the recorded session of an agent; empty: there is none.
func recordedID(name string) string {
	for _, f := range acptest.Sessions(name)["basic"] {
		if _, rest, found := strings.Cut(string(f.In), `"sessionId":"`); found && strings.Contains(string(f.In), `"result"`) {
			id, _, _ := strings.Cut(rest, `"`)
			return id
		}
	}
	return ""
}
