// The help text of sluice-farm, which is also the grammar of its command line.
#pragma once

namespace sluice {

inline constexpr char kFarmUsage[] =
    R"(Hands jobs of clients to workers, on this machine and others.

Usage:
  sluice-farm [options] [--sbatch=WORD]... [--worker=WORD]... --bind=ENDPOINT
  sluice-farm status [options] <endpoint>
  sluice-farm drain [options] <endpoint>
  sluice-farm release [options] <endpoint> <key>
  sluice-farm replay [options] <key>
  sluice-farm keygen [options] <name>
  sluice-farm (--help | --version)

Clients are sluice compile --farm and sluice compile-all --provider, workers sluice worker; all name
the ENDPOINT of --bind. docs/farm.md shows a farm on two machines.

  (no command)  Serves until it is ended by a signal. Another one with the same --state goes on.
  status        Prints jobs, workers and clients.
  drain         Has the dispatcher assign nothing further; it ends when nothing runs.
  release       Lets a quarantined job run when it is submitted again.
  replay        Runs a quarantined job in a process of this machine, and prints what it prints.
  keygen        Makes the keys of a program: NAME.key, its secret, and NAME.pub. docs/farm.md.

Options:
  --bind=ENDPOINT      Listen at tcp://ADDRESS:PORT or ipc://PATH. PORT "*" is any free one.
  --key=FILE           Our own secret key, NAME.key.
  --allow-keys=DIR     With --bind: let those connect whose NAME.pub is in DIR, or in DIR/clients or
                       DIR/workers, which allow only that. The folder may change at any time.
  --insecure           With --bind: listen without keys at a port of this machine, 127.0.0.1.
  --peer-key=FILE      With a command: the NAME.pub of the dispatcher.
  -o DIR               With keygen: write the files to DIR [default: .].
  --state=DIR          Keep jobs and the inputs of quarantined ones in DIR [default: farm].
  --store=DIR          Keep inputs and products in DIR, a store; the folder `store` of --state
                       when not given.
  --sync               Also keep jobs over a loss of power: each commit waits for the disk.
  --max-jobs=N         Take at most N jobs; clients wait [default: 1000000].
  --verifying=N        Verify up to N products at the same time [default: 1].
  --provider=slurm     Have Slurm run workers: as many as the jobs can use, from --min to --max.
  --min=N              [default: 0]
  --max=N              [default: 8]
  --sbatch=WORD        One more word for sbatch, such as --cpus-per-task=4. Repeatable.
  --worker=WORD        One more word for sluice worker, such as --slots=4 or --store=/scratch/store.
                       Repeatable.
  --reached-at=ENDPOINT  The endpoint for these workers, where it is not that of --bind.
  --metrics=PLACE      Answer GET /metrics over HTTP at PORT of this machine, or at ADDRESS:PORT, in
                       the format of Prometheus.
  --json               Print the status as JSON.
  --log-format=FORMAT  Lines of events on standard error: text or json [default: text].
  -v, --verbose        Also log the events of every job.
  -q, --quiet          No events but warnings.
  --error-format=FMT   text or json [default: text].
  --help               Print this.
  --version            Print the release.
)";

inline constexpr char kWorkerUsage[] =
    R"(Runs jobs that a dispatcher, sluice farm, gives it, or stages for clients that connect.

Usage:
  sluice-worker [options] --connect=ENDPOINT
  sluice-worker [options] [--stage=STAGE] --listen=ENDPOINT
  sluice-worker (--help | --version)

Each job is a process. What it reads is brought into the worker's store, and stays there. SIGTERM
lets what runs end and gives the other jobs back; a second one ends the worker at once.

Options:
  --connect=ENDPOINT   The dispatcher's: tcp://HOST:PORT or ipc://PATH.
  --listen=ENDPOINT    Run stages for sluice compile --transport zmq, without a dispatcher; at
                       ipc://PATH, for this user, or tcp://ADDRESS:PORT. docs/transports.md.
  --stage=STAGE        With --listen: run this stage alone.
  --max-frame=BYTES    With --listen: most bytes of one input that is sent, 1 GiB unless said
                       otherwise.
  --key=FILE           Our own secret key, NAME.key of sluice farm keygen.
  --peer-key=FILE      The NAME.pub of the dispatcher.
  --bind=ENDPOINT      Give artifacts to other workers at tcp://ADDRESS:PORT or ipc://PATH, so that
                       the dispatcher sends each about once. PORT "*" is any free one.
  --reached-at=ENDPOINT  The endpoint for other workers, where it is not that of --bind.
  --allow-keys=DIR     With --bind: let those workers connect whose NAME.pub is in DIR or
                       DIR/workers; with --listen, all clients whose NAME.pub is in DIR. The folder
                       may change at any time.
  --insecure           With --bind or --listen: listen without keys at a port of this machine,
                       127.0.0.1.
  --store=DIR          Keep inputs and products in DIR, a store; worker-store unless said otherwise,
                       and with --listen a folder that ends with the worker.
  --slots=N            Run up to N jobs at the same time; 0 means one per usable core [default: 0].
  --threads=N          Threads of each job; 0, and none given, share the usable cores among the
                       slots.
  --idle-exit=S        End after S seconds without work.
  --allow-passes       Take jobs with passes of users, --pass, which are code of theirs;
                       docs/security.md.
  --no-sandbox         Run the stages of jobs without a sandbox; docs/security.md.
  --sandbox-memory=N   Bytes of memory that a stage may have; those of the machine unless said
                       otherwise.
  --sandbox-seconds=N  Seconds of processor time that a stage may have; 3600 unless said otherwise.
  --sandbox-file-bytes=N  Bytes of a file that a stage may write; 16 GiB unless said otherwise.
  --log-format=FORMAT  Lines of events on standard error: text or json [default: text].
  -v, --verbose        Also log the events of every job.
  -q, --quiet          No events but warnings.
  --error-format=FMT   text or json [default: text].
  --help               Print this.
  --version            Print the release.
)";

}  // namespace sluice
