"""Every law of a store, to be imported into a test module that has an `open_store` fixture."""

from .caching import *
from .changing import *
from .entities import *
from .filtering import *
from .isolation import *
from .listing import *
from .nearness import *
from .newest import *
from .noting import *
from .outlines import *
from .retrievals import *
from .searching import *
from .spaces import *
from .twin import *
from .using import *
from .walking import *
from .writing import *
