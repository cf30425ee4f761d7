"""Every law of a store, to be imported into a test module that has an `open_store` fixture."""

from .filtering import *  # noqa: F403
from .isolation import *  # noqa: F403
from .listing import *  # noqa: F403
from .nearness import *  # noqa: F403
from .searching import *  # noqa: F403
from .spaces import *  # noqa: F403
from .twin import *  # noqa: F403
from .walking import *  # noqa: F403
from .writing import *  # noqa: F403
