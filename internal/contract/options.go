package contract

import "time"

// Policy is how long an activity may take and how it is retried. Zero durations mean no
// bound of that kind; zero Attempts means for as long as it takes.
type Policy struct {
	StartToClose    time.Duration
	ScheduleToClose time.Duration
	Heartbeat       time.Duration
	Initial         time.Duration // first pause between tries
	Max             time.Duration // longest pause
	Local           bool          // runs in the worker of the workflow task: it only reads, or its repeat with another input is fenced
	Attempts        int32
}

// PolicyOf is the one table of timeouts and retries.
func PolicyOf(activity string) Policy {
	switch activity {
	case EnsureBranch, OpenPullRequest:
		// A Git host that is down for ten minutes ends the wait with a failure that the user sees. One try is short,
		// since the death of a worker stays undetected for that long.
		return Policy{StartToClose: 20 * time.Second, ScheduleToClose: 10 * time.Minute, Initial: time.Second, Max: 30 * time.Second}
	case EnsureSandbox, StartAgent:
		// Bounded by the task's spawn timeout; the next attempt may find a better host.
		return Policy{StartToClose: 10 * time.Minute, Heartbeat: heartbeatTimeout, Initial: time.Second, Max: 30 * time.Second}
	case StopAgent:
		return Policy{StartToClose: time.Minute, ScheduleToClose: 3 * time.Minute, Heartbeat: heartbeatTimeout, Initial: time.Second, Max: 10 * time.Second}
	case CollectWork, PublishBranch:
		return Policy{StartToClose: 10 * time.Minute, ScheduleToClose: 30 * time.Minute, Heartbeat: heartbeatTimeout, Initial: time.Second, Max: 30 * time.Second}
	case RepeatTests:
		// The activity bounds its runs of the tests. Without a result the work is published all the same.
		return Policy{StartToClose: TestRepeatLimit + 10*time.Minute, ScheduleToClose: 2*TestRepeatLimit + 30*time.Minute, Heartbeat: heartbeatTimeout, Initial: time.Second, Max: 30 * time.Second}
	case CheckAgent:
		// No answer is an answer: unknown.
		return Policy{StartToClose: 30 * time.Second, ScheduleToClose: time.Minute, Initial: time.Second, Max: 10 * time.Second}
	case Salvage:
		// Bounded by the salvage window of the sandbox.
		return Policy{StartToClose: 5 * time.Minute, Heartbeat: heartbeatTimeout, Initial: time.Second, Max: 30 * time.Second}
	case DeleteSandbox, VerifyDeleted:
		// A sandbox that costs money is deleted for as long as it takes.
		return Policy{StartToClose: 5 * time.Minute, Heartbeat: heartbeatTimeout, Initial: time.Second, Max: 5 * time.Minute}
	case RelaySandbox:
		// Unknown ends no pull relay: it is retried for as long as it takes, and the cleanup cancels it.
		return Policy{StartToClose: PullTurn + time.Minute, Heartbeat: heartbeatTimeout, Initial: time.Second, Max: 10 * time.Second}
	case FlushSpool:
		// Bounded by what is left of the salvage window of the sandbox.
		return Policy{StartToClose: 2 * time.Minute, Heartbeat: heartbeatTimeout, Initial: time.Second, Max: 10 * time.Second}
	case FindOrphans:
		// The next reaper pass checks a host that does not answer again.
		return Policy{StartToClose: 30 * time.Second, ScheduleToClose: 40 * time.Second, Initial: time.Second, Max: 5 * time.Second}
	case AnalyzeAgents, AnalyzeOrganizations, RemoveExpired:
		// Bounded by the cycle; what a range has analyzed it does not analyze again.
		return Policy{StartToClose: 5 * time.Minute, Heartbeat: heartbeatTimeout, Initial: time.Second, Max: 5 * time.Second, Attempts: 5}
	case BeginGuardianCycle, EndGuardianCycle, BeginConductorCycle, EndConductorCycle, BeginRetention, ListReaperTargets, StartCleanup, ReconcileTasks, AdmitTasks, PauseIdleReaper:
		return Policy{StartToClose: 30 * time.Second, Initial: time.Second, Max: 10 * time.Second, Attempts: 5}
	case LoadTask, BeginAttempt, LoadCommand, LoadEvents, LoadSandbox:
		// Like the store's other activities below, and short: a workflow task waits for them.
		return Policy{StartToClose: 10 * time.Second, Initial: 200 * time.Millisecond, Max: 30 * time.Second, Local: true}
	}
	// The store's activities are short and wait for a database that is down.
	return Policy{StartToClose: 10 * time.Second, Initial: 200 * time.Millisecond, Max: 10 * time.Second}
}

// heartbeatTimeout is the heartbeat timeout of activities: the time after which Temporal detects a dead worker. It is longer than
// [HeartbeatCall], so that an activity ends before its next try starts.
const heartbeatTimeout = 20 * time.Second

// TestRepeatLimit is the maximum duration of all runs of one [RepeatTests] together.
const TestRepeatLimit = time.Hour

// HeartbeatCall is how long an activity waits for the answer to one heartbeat.
const HeartbeatCall = 15 * time.Second
