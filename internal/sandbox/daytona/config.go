package daytona

import (
	"cmp"
	"math"
	"net/url"
	"strings"
	"time"

	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/task"
)

// DefaultImage is the default of Config.Image: an image with git, a shell, Python and Node.js.
const DefaultImage = "nikolaik/python-nodejs:python3.12-nodejs22"

const (
	// createPatience is the maximum time from create to a running toolbox, including the wait for a runner.
	createPatience = 10 * time.Minute
	// limitPatience is the longest rate-limit wait within a call. A longer wait is [task.CodeExhausted] with its
	// duration.
	limitPatience = time.Minute
)

// Config configures the provider. A zero value means the default.
type Config struct {
	APIKey string // empty: Ensure fails, see [Provider.Ready]
	APIURL string // default https://app.daytona.io/api
	Target string // region; empty: the organization's default
	// Snapshot is the snapshot of new sandboxes; empty: Image is used.
	Snapshot string
	// Image is used if the snapshot is missing, or inactive and its activation fails.
	Image string // default [DefaultImage]
	// Limits are the default limits of a sandbox. Zero: 4 GiB of memory, 2 CPUs, 8 GB of disk. They apply to images
	// only: a snapshot has its own.
	Limits sandbox.Limits
	// LongestCreate is the time in which a create without an answer can still produce a sandbox; default 5 min.
	LongestCreate time.Duration

	PollMin time.Duration // first pause between two polls; default 250 ms
	PollMax time.Duration // longest pause between two polls; default 2 s

	DeletePatience time.Duration // maximum time from the delete to the absence; default 2 min
}

func (c Config) withDefaults() (Config, error) {
	c.APIURL = strings.TrimRight(cmp.Or(c.APIURL, "https://app.daytona.io/api"), "/")
	c.Image = cmp.Or(c.Image, DefaultImage)
	c.Limits = c.Limits.Or(sandbox.DefaultLimits())
	c.LongestCreate = cmp.Or(c.LongestCreate, 5*time.Minute)
	c.PollMin = cmp.Or(c.PollMin, 250*time.Millisecond)
	c.PollMax = cmp.Or(c.PollMax, 2*time.Second)
	c.DeletePatience = cmp.Or(c.DeletePatience, 2*time.Minute)
	u, err := url.Parse(c.APIURL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return c, task.Invalid("api_url", "the URL of Daytona's API must start with http:// or https://").WithCause(err)
	}
	if strings.ContainsAny(c.Image, " \t\r\n") {
		return c, task.Invalid("image", "invalid image name %q", c.Image)
	}
	return c, c.Limits.Check(0)
}

// whole converts limits to whole CPUs and GiB, rounded up.
func whole(l sandbox.Limits) (cpu, memory, disk int32) {
	up := func(n, unit int64) int32 { return int32((n + unit - 1) / unit) } //nolint:gosec // G115: Limits.Check limits the value
	return int32(math.Ceil(l.CPUs)), up(l.MemoryBytes, sandbox.GiB), up(l.DiskBytes, sandbox.GiB)
}
