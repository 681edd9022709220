package task

// EnvRequireChanges is the setting by which a task may end without a commit, where its tree is clean and its branch stands where it
// was: "false" allows it. A task that feedback began has it: what was said may be a question, or wrong.
const EnvRequireChanges = "REQUIRE_CHANGES"
