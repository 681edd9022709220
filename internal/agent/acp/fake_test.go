package acp_test

import (
	"context"
	"os"
	"strconv"
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
