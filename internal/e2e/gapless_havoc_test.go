package e2e_test

import (
	"context"
	"net"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	apiclient "github.com/omoi-dev/omoi/api/client"
)

// breakThings kills or stops something each time that a further share of all events is
// stored, and mends it at the next time. The speakers may go on a share further after it.
func (p *proof) breakThings() {
	p.t.Helper()
	total := p.agents*p.events + p.size.posters*p.posts
	mend := func() {}
	for step := range p.blows {
		p.gate.widen(float64(step+1) / float64(p.blows+1))
		middle := int(float64(total) * (float64(step) + 0.5) / float64(p.blows+1))
		p.await(middle)
		mend()
		mend = p.breakOne(step)
	}
	mend()
	p.gate.widen(1)
}

// await waits until so many events are stored.
func (p *proof) await(events int) {
	p.attend(func() bool {
		var stored int
		err := p.pool.QueryRow(p.life, `SELECT coalesce(sum(last_sequence), 0) FROM sandboxes WHERE provider <> 'local'`).Scan(&stored)
		return err == nil && stored >= events // of errors, that PostgreSQL is away is one that was made
	})
}

// attend waits for a fact, and meanwhile starts API processes again that end because they
// find no database, as a service manager does.
func (p *proof) attend(fact func() bool) {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for p.life.Err() == nil && !fact() {
		for i := range gaplessAPIs {
			if p.ended(apiName(i)) {
				p.kill(apiName(i))
				p.startAPIOf(i)
			}
		}
		select {
		case <-p.life.Done():
		case <-tick.C:
		}
	}
}

// ended reports whether a process is not there any more.
func (p *proof) ended(name string) bool {
	select {
	case <-p.procs[name].done:
		return true
	default:
		return false
	}
}

// breakOne breaks something, first each kind once; the answer mends it.
func (p *proof) breakOne(step int) (mend func()) {
	kinds := []func() func(){p.killAPI, p.crashPostgres, p.killBoxed, p.killRedis, p.stopAPI, p.killAPIs, p.killAPI, p.stopPostgres, p.crashPostgres}
	return kinds[step%len(kinds)]()
}

// killAPI kills one API process; it is started again at once, as a service manager does.
func (p *proof) killAPI() func() {
	i := p.draw(gaplessAPIs)
	p.t.Logf("API %d is killed", i)
	p.kill(apiName(i))
	p.startAPIOf(i)
	return func() {}
}

// killAPIs kills all of them.
func (p *proof) killAPIs() func() {
	p.t.Log("every API is killed")
	for i := range gaplessAPIs {
		p.kill(apiName(i))
	}
	for i := range gaplessAPIs {
		p.startAPIOf(i)
	}
	return func() {}
}

// stopAPI holds an API process as a machine that hangs does, with whatever it had locked.
func (p *proof) stopAPI() func() {
	i := p.draw(gaplessAPIs)
	p.t.Logf("API %d hangs", i)
	process := p.procs[apiName(i)].cmd.Process
	require.NoError(p.t, process.Signal(syscall.SIGSTOP))
	return func() { _ = process.Signal(syscall.SIGCONT) }
}

// crashPostgres ends PostgreSQL at once, without a checkpoint; the stack starts it again.
func (p *proof) crashPostgres() func() {
	p.t.Log("PostgreSQL crashes")
	for _, pid := range p.parts("postgres") {
		_ = syscall.Kill(pid, syscall.SIGQUIT)
	}
	return func() {}
}

// stopPostgres lets it end in order, which says goodbye to every connection.
func (p *proof) stopPostgres() func() {
	p.t.Log("PostgreSQL is restarted")
	for _, pid := range p.parts("postgres") {
		_ = syscall.Kill(pid, syscall.SIGINT)
	}
	return func() {}
}

// killRedis takes the wake-ups between the processes away, for a while.
func (p *proof) killRedis() func() {
	if p.redis == nil {
		return p.killAPI()
	}
	p.t.Log("Redis is killed")
	p.redis.kill()
	return p.redis.start
}

func (p *proof) draw(n int) int { return p.random(9000 + int(p.drawn.Add(1))).IntN(n) }

func (p *proof) startAPIOf(i int) { p.start(apiName(i), p.env[i], "api") }

// awaitAPIs waits until every API answers.
func (p *proof) awaitAPIs() {
	p.attend(func() bool {
		for _, url := range p.direct {
			if _, err := apiclient.New(url, "").Info(p.life); err != nil {
				return false
			}
		}
		return true
	})
}

// server is a Redis that can be killed and started again at the same place.
type server struct {
	t             *testing.T
	path, address string
	cmd           *exec.Cmd
	done          chan struct{}
}

// newRedis starts one; nil where the machine has none, and each API then wakes its own
// readers only.
func newRedis(t *testing.T) *server {
	t.Helper()
	path, err := exec.LookPath("redis-server")
	if err != nil {
		t.Log("no redis-server on this machine: the proof goes without")
		return nil
	}
	s := &server{t: t, path: path, address: net.JoinHostPort("127.0.0.1", strconv.Itoa(freePort(t)))}
	s.start()
	t.Cleanup(s.kill)
	return s
}

func (s *server) start() {
	_, port, err := net.SplitHostPort(s.address)
	require.NoError(s.t, err)
	s.cmd = exec.CommandContext(context.Background(), s.path, "--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no")
	s.cmd.Dir = s.t.TempDir()
	s.done, err = tied(s.cmd)
	require.NoError(s.t, err)
	client := redis.NewClient(&redis.Options{Addr: s.address})
	defer client.Close()
	require.True(s.t, waitFor(patience, func() bool { return client.Ping(context.Background()).Err() == nil }), "Redis answers")
}

func (s *server) kill() {
	_ = s.cmd.Process.Kill()
	<-s.done
}
