import Dispatch

/// Runs tasks on a queue of its own, one at a time.
///
/// Swift's pool of threads would do too. But from its first use on, Dispatch looks at it once a
/// second on Linux, which costs an idle process four system calls a second.
package final class TaskQueue: TaskExecutor {
  private let queue: DispatchQueue

  package init(label: String) { queue = DispatchQueue(label: label) }

  package func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { unsafe job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }
}
